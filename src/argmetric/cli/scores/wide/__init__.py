"""Files with a column for each label: ``--scores 'p_*'`` with ``--labels 'y_*'``."""
