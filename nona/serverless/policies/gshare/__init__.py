"""FaST-GShare: shares of time by shares of SMs, packed as rectangles."""
