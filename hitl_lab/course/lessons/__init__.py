"""The data of each notebook, one file each: `lNN_name.py` holds a `LESSON`. There is no list to add it to."""
