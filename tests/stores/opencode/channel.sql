-- An early build (1.2) of another channel: sessions without a folder, times as text and in seconds.
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, title text NOT NULL, time_created integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created text, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL);
INSERT INTO project VALUES ('p2', '/home/tova/src/lighthouse'), ('global', '/');
INSERT INTO session VALUES ('ses_light001', 'p2', 'Lamp oil', 1788000000), ('ses_global01', 'global', 'Nowhere', 1788000000);
INSERT INTO message VALUES
 ('msg_a1', 'ses_light001', '2026-08-29T10:40:05Z', '{"role":"user"}'),
 ('msg_a2', 'ses_global01', '1788000010', '{"role":"user"}'),
 ('msg_a3', 'ses_light001', '1788000020', '{"role":"stranger"}');
INSERT INTO part VALUES
 ('prt_a1', 'msg_a1', 'ses_light001', '{"type":"text","text":"Order lamp oil"}'),
 ('prt_a2', 'msg_a2', 'ses_global01', '{"type":"text","text":"Asked from nowhere"}'),
 ('prt_a3', 'msg_a3', 'ses_light001', '{"type":"text","text":"ferry: of a role that is not known"}');
