"""Files and directories on the disk: atomic writing, locks, removal, earlier results."""
