"""Many independent runs, in this process or in several, behind one interface."""
