"""The server of `common`, as a file to start from anywhere: `python3 common_server.py`."""

from common.__main__ import main

if __name__ == "__main__":
    main()
