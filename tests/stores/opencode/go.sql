-- OpenCode in Go (mid 2025): parts in one column, times in seconds.
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT);
CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, path TEXT NOT NULL, content TEXT NOT NULL);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER);
INSERT INTO files VALUES ('f1', '5e551000-0000-4000-8000-000000000001', 'nets.md', 'ferry: a file that was edited');
INSERT INTO sessions VALUES
 ('5e551000-0000-4000-8000-000000000001', NULL, 'Mend the nets', 5, 1751000100, 1751000000, '3e550000-0000-4000-8000-000000000005'),
 ('toolu_net01', '5e551000-0000-4000-8000-000000000001', 'New Agent Session', 1, 1751000100, 1751000050, NULL);
INSERT INTO messages VALUES
 ('3e550000-0000-4000-8000-000000000001', '5e551000-0000-4000-8000-000000000001', 'user', '[{"type":"text","data":{"text":"Mend the \"north\" nets"}},{"type":"finish","data":{"reason":"stop","time":0}}]', '', 1751000001, 1751000001, NULL),
 ('3e550000-0000-4000-8000-000000000002', '5e551000-0000-4000-8000-000000000001', 'assistant', '[{"type":"reasoning","data":{"thinking":"Twine first."}},{"type":"text","data":{"text":"I look for twine."}},{"type":"tool_call","data":{"id":"t1","name":"bash","input":"{\"command\":\"ls twine \\u0026\\u0026 ls hooks\",\"timeout\":1.50}","type":"function","finished":true}},{"type":"tool_call","data":{"id":"t2","name":"view","input":"{torn","type":"function","finished":false}},{"type":"finish","data":{"reason":"tool_use","time":1751000003}}]', 'reef.net-4', 1751000002, 1751000003, 1751000003),
 ('3e550000-0000-4000-8000-000000000003', '5e551000-0000-4000-8000-000000000001', 'tool', '[{"type":"tool_result","data":{"tool_call_id":"t1","name":"bash","content":"green twine\n","metadata":"","is_error":false}},{"type":"finish","data":{"reason":"stop","time":0}}]', '', 1751000004, 1751000004, NULL),
 ('3e550000-0000-4000-8000-000000000004', 'toolu_net01', 'user', '[{"type":"text","data":{"text":"Count the knots"}}]', '', 1751000051, 1751000051, NULL),
 ('3e550000-0000-4000-8000-000000000005', '5e551000-0000-4000-8000-000000000001', 'assistant', '[{"type":"text","data":{"text":"Nets: twine found, knots counted."}},{"type":"sonar","data":{"text":"ferry"}}]', 'reef.net-4', 1751000060, 1751000060, 1751000060),
 ('3e550000-0000-4000-8000-000000000006', '5e551000-0000-4000-8000-000000000001', 'assistant', '[]', 'reef.net-4', 1751000070, 1751000070, NULL);
