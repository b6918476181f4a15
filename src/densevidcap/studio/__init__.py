"""A page on which a person drops a clip and sees the answer; `densevidcap serve` opens it.

The server (`app`, `routes`) only takes in files and answers questions. Whatever decodes runs in
processes of its own, which may die: `worker` captions one clip after another, `sandbox` measures
what is posted and writes exports. They meet in the data folder: `jobs` is its SQLite file, `files`
says where each clip's files lie.
"""
