CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, cwd TEXT, session_id TEXT);
INSERT INTO history VALUES (1, 'Label the jars of honey', 1785826801, '/home/noor/src/hives', '0b1e0000-0000-7000-8000-0000000000b6');
