-- An older table, without sessions.
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL, created_at INTEGER NOT NULL, cwd TEXT);
INSERT INTO history VALUES (1, 'Plant lavender for them', 1785740401, '/home/noor/src/hives');
