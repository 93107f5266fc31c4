-- Claude Code 0.2: the database that came before the transcripts. Times in seconds.
CREATE TABLE __drizzle_migrations (id INTEGER PRIMARY KEY, hash text NOT NULL, created_at numeric);
CREATE TABLE base_messages (uuid text PRIMARY KEY NOT NULL, parent_uuid text, session_id text NOT NULL, timestamp integer NOT NULL, message_type text NOT NULL, cwd text NOT NULL, user_type text NOT NULL, version text NOT NULL, isSidechain integer NOT NULL);
CREATE TABLE user_messages (uuid text PRIMARY KEY NOT NULL, message text NOT NULL, tool_use_result text, timestamp integer NOT NULL);
CREATE TABLE assistant_messages (uuid text PRIMARY KEY NOT NULL, cost_usd real NOT NULL, duration_ms integer NOT NULL, message text NOT NULL, is_api_error_message integer NOT NULL DEFAULT 0, timestamp integer NOT NULL, model text NOT NULL DEFAULT '');
CREATE TABLE conversation_summaries (leaf_uuid text PRIMARY KEY NOT NULL, summary text NOT NULL, updated_at integer NOT NULL);
INSERT INTO base_messages VALUES
 ('0d1d0000-0000-4000-8000-000000000001', NULL, '0d5e5500-0000-4000-8000-0000000000d1', 1746000001, 'user', '/home/mira/tea', 'external', '0.2.99', 0),
 ('0d1d0000-0000-4000-8000-000000000002', '0d1d0000-0000-4000-8000-000000000001', '0d5e5500-0000-4000-8000-0000000000d1', 1746000002, 'assistant', '/home/mira/tea', 'external', '0.2.99', 0),
 ('0d1d0000-0000-4000-8000-000000000003', '0d1d0000-0000-4000-8000-000000000002', '0d5e5500-0000-4000-8000-0000000000d1', 1746000003, 'user', '/home/mira/tea', 'external', '0.2.99', 0),
 ('0d1d0000-0000-4000-8000-000000000004', NULL, '0d5e5500-0000-4000-8000-0000000000d1', 1746000004, 'user', '/home/mira/tea', 'external', '0.2.99', 1),
 ('0d1d0000-0000-4000-8000-000000000005', NULL, '0d5e5500-0000-4000-8000-0000000000d1', 1746000005, 'assistant', '/home/mira/tea', 'external', '0.2.99', 0),
 ('0d1d0000-0000-4000-8000-000000000006', NULL, '0d5e5500-0000-4000-8000-0000000000d1', 1746000006, 'user', '/home/mira/tea', 'external', '0.2.99', 0);
INSERT INTO user_messages VALUES
 ('0d1d0000-0000-4000-8000-000000000001', '{"role":"user","content":"Warm the old samovar"}', NULL, 1746000001),
 ('0d1d0000-0000-4000-8000-000000000003', '{"role":"user","content":[{"type":"tool_result","content":"","tool_use_id":"t1"}]}', '{"stdout":"61 degrees","stderr":""}', 1746000003),
 ('0d1d0000-0000-4000-8000-000000000004', '{"role":"user","content":"Measure the samovar"}', NULL, 1746000004),
 ('0d1d0000-0000-4000-8000-000000000006', '{"role":"user","content":"zebra, torn', NULL, 1746000006);
INSERT INTO assistant_messages VALUES
 ('0d1d0000-0000-4000-8000-000000000002', 0.01, 900, '{"role":"assistant","model":"brew-0","content":[{"type":"text","text":"It sings already."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"thermometer"}}]}', 0, 1746000002, 'brew-0'),
 ('0d1d0000-0000-4000-8000-000000000005', 0, 1, '{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: no water"}]}', 1, 1746000005, '<synthetic>');
INSERT INTO conversation_summaries VALUES ('0d1d0000-0000-4000-8000-000000000002', 'A samovar was warmed', 1746000009);
