"""Guards before the app: hosts, origins, headers, the login, a browser's cookie."""
