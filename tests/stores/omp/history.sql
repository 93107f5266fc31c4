-- oh-my-pi: the prompts of the input box, each text once. With its full-text index, which is not read.
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT, session_id TEXT);
CREATE INDEX idx_history_created_at ON history(created_at DESC);
CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
INSERT INTO history (id, prompt, created_at, cwd, session_id) VALUES
 (1, 'Where do the bees sleep?', 1785567601, '/home/noor/src/orchard', '0b1e0000-0000-7000-8000-0000000000b1'),
 (2, '/compact the "hive" list', 1785567700, '/home/noor/src/orchard', NULL),
 (3, '$print(6*7)', 1785567800, NULL, '0b1e0000-0000-7000-8000-0000000000b1');
-- ONLY IN THE LOG
INSERT INTO history (id, prompt, created_at, cwd, session_id) VALUES (4, 'Where is the newest comb? 蜂の巣', 1785567900, '/home/noor/src/orchard', '0b1e0000-0000-7000-8000-0000000000b4');
