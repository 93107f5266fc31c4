-- OpenCode 1.18: what the fixture's main database holds. Invented, as everything here. Made with the sqlite3 of Python.
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL, summary_diffs text, metadata text, revert text, permission text, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, data text NOT NULL);
CREATE TABLE account (id text PRIMARY KEY, email text, access_token text);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
INSERT INTO project VALUES ('p1', '/home/tova/src/harbour', 'git', 1790000000000, 1790000000000);
INSERT INTO account VALUES ('a1', 'ferry@example.invalid', 'ferry-token');
INSERT INTO session VALUES
 ('ses_harbour01', 'p1', NULL, NULL, 'calm-pier', '/home/tova/src/harbour', 'Tide tables', '1.18.33', NULL, NULL, NULL, NULL, 'build', NULL, 1790000000000, 1790000900000, NULL, NULL),
 ('ses_headless1', 'p1', NULL, NULL, 'grey-gull', '/home/tova/src/harbour', 'Count the gulls', '1.18.33', NULL, NULL, NULL, '[{"permission":"question","pattern":"*","action":"deny"}]', 'build', NULL, 1790001000000, 1790001900000, NULL, NULL),
 ('ses_fork00001', 'p1', NULL, NULL, 'calm-quay', '/home/tova/src/harbour', 'Tide tables (fork #1)', '1.18.33', NULL, NULL, NULL, NULL, 'build', NULL, 1790002000000, 1790002900000, NULL, NULL),
 ('ses_subagent1', 'p1', NULL, 'ses_harbour01', 'small-crab', '/home/tova/src/harbour', 'Survey of the buoys', '1.18.33', NULL, NULL, NULL, NULL, 'explore', NULL, 1790000500000, 1790000600000, NULL, NULL);
INSERT INTO message VALUES
 ('msg_01', 'ses_harbour01', 1790000001000, 1790000001000, '{"role":"user","time":{"created":1790000001000},"agent":"build","model":{"providerID":"tide","modelID":"kelp-2"}}'),
 ('msg_02', 'ses_harbour01', 1790000002000, 1790000009000, '{"parentID":"msg_01","role":"assistant","path":{"cwd":"/home/tova/src/harbour","root":"/home/tova/src/harbour"},"cost":0,"tokens":{"input":90,"output":12,"reasoning":3},"modelID":"kelp-2","providerID":"tide","time":{"created":1790000002000,"completed":1790000009000}}'),
 ('msg_03', 'ses_harbour01', 1790000020000, 1790000020000, '{"role":"user","time":{"created":1790000020000},"agent":"build"}'),
 ('msg_04', 'ses_harbour01', 1790000021000, 1790000021500, '{"parentID":"msg_03","role":"assistant","path":{"cwd":"/home/tova/src/harbour"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0},"modelID":"kelp-2","time":{"created":1790000021000}}'),
 ('msg_05', 'ses_harbour01', 1790000030000, 1790000039000, '{"parentID":"msg_01","role":"assistant","summary":true,"mode":"compaction","tokens":{"input":5,"output":5,"reasoning":0},"modelID":"kelp-2","time":{"created":1790000030000}}'),
 ('msg_06', 'ses_harbour01', 1790000040000, 1790000040000, '{"parentID":"msg_01","role":"assistant","tokens":{"input":1,"output":0,"reasoning":0},"modelID":"kelp-2","time":{"created":1790000040000},"system":["You tend a harbour."],"error":{"name":"APIError","data":{"message":"The tide service is at rest","statusCode":529}}}'),
 ('msg_11', 'ses_headless1', 1790001001000, 1790001001000, '{"role":"user","time":{"created":1790001001000},"agent":"build"}'),
 ('msg_12', 'ses_headless1', 1790001002000, 1790001002000, '{"role":"user","time":{"created":1790001002000},"agent":"build"}'),
 ('msg_21', 'ses_fork00001', 1790000001000, 1790002000100, '{"role":"user","time":{"created":1790000001000},"agent":"build"}'),
 ('msg_22', 'ses_fork00001', 1790000002000, 1790002000200, '{"parentID":"msg_21","role":"assistant","path":{"cwd":"/home/tova/src/harbour"},"tokens":{"input":90,"output":12,"reasoning":3},"modelID":"kelp-2","time":{"created":1790000002000}}'),
 ('msg_31', 'ses_subagent1', 1790000501000, 1790000501000, '{"role":"user","time":{"created":1790000501000},"agent":"explore"}');
INSERT INTO part VALUES
 ('prt_0101', 'msg_01', 'ses_harbour01', 1790000001000, 1790000001000, '{"type":"text","text":"When is high water at the old pier?\nWrite it as \"café tide\" in C:\\tides"}'),
 ('prt_0102', 'msg_01', 'ses_harbour01', 1790000001000, 1790000001000, '{"type":"file","mime":"text/plain","filename":"piers.md","url":"file:///home/tova/src/harbour/piers.md","source":{"type":"file","path":"piers.md","text":{"start":0,"end":9,"value":"@piers.md"}}}'),
 ('prt_0103', 'msg_01', 'ses_harbour01', 1790000001000, 1790000001000, '{"type":"text","text":"Called the Read tool with piers.md","synthetic":true}'),
 ('prt_0104', 'msg_01', 'ses_harbour01', 1790000001000, 1790000001000, '{"type":"text","text":"A plugin greets you","ignored":true}'),
 ('prt_0105', 'msg_01', 'ses_harbour01', 1790000001000, 1790000001000, '{"type":"agent","name":"explore"}'),
 ('prt_0201', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"step-start","snapshot":"00f1"}'),
 ('prt_0202', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"reasoning","text":"The almanac knows.","time":{"start":1790000002100,"end":1790000002200}}'),
 ('prt_0203', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"text","text":"I ask the almanac.","time":{"start":1790000002300,"end":1790000002400}}'),
 ('prt_0204', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"tool","tool":"bash","callID":"call_a1","state":{"status":"completed","input":{"command":"almanac --pier old","timeout":1.50},"output":"06:12 high\n","title":"almanac","metadata":{"exit":0},"time":{"start":1790000003000,"end":1790000004000}}}'),
 ('prt_0205', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"tool","tool":"edit","callID":"call_a2","state":{"status":"error","input":{"filePath":"tides.csv"},"error":"The user rejected permission to use this specific tool call with the following feedback: ask the harbour master first","time":{"start":1790000005000,"end":1790000006000}}}'),
 ('prt_0206', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"tool","tool":"question","callID":"call_a3","state":{"status":"completed","input":{"questions":[{"question":"Which pier?","options":[{"label":"Old pier"},{"label":"New pier"}]}]},"output":"User has answered your questions","metadata":{"answers":[["Old pier","and the slipway too"]]},"time":{"start":1790000006000,"end":1790000007000}}}'),
 ('prt_0207', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"tool","tool":"task","callID":"call_a4","state":{"status":"pending","input":{},"raw":"{\"prompt\":\"Survey"}}'),
 ('prt_0208', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"subtask","prompt":"Survey the buoys","description":"buoys","agent":"explore"}'),
 ('prt_0209', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"Overloaded, again"}},"time":{"created":1790000008000}}'),
 ('prt_0210', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"patch","hash":"00f2","files":["/home/tova/src/harbour/ferry.csv"]}'),
 ('prt_0211', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"step-finish","reason":"stop","cost":0}'),
 ('prt_0212', 'msg_02', 'ses_harbour01', 1790000002000, 1790000002000, '{"type":"hologram","beam":"not known"}'),
 ('prt_0301', 'msg_03', 'ses_harbour01', 1790000020000, 1790000020000, '{"type":"text","text":"The following tool was executed by the user","synthetic":true}'),
 ('prt_0401', 'msg_04', 'ses_harbour01', 1790000021000, 1790000021000, '{"type":"tool","tool":"bash","callID":"call_h1","state":{"status":"completed","input":{"command":"ls buoys"},"output":"red green\n","time":{"start":1790000021100,"end":1790000021200}}}'),
 ('prt_0501', 'msg_05', 'ses_harbour01', 1790000030000, 1790000030000, '{"type":"text","text":"So far: one pier, two buoys.","time":{"start":1790000030100}}'),
 ('prt_0502', 'msg_05', 'ses_harbour01', 1790000030000, 1790000030000, '{"type":"compaction","auto":true}'),
 ('prt_1101', 'msg_11', 'ses_headless1', 1790001001000, 1790001001000, '{"type":"text","text":"\"count the \\\"grey\\\" gulls in C:\\gulls\"\n"}'),
 ('prt_1201', 'msg_12', 'ses_headless1', 1790001002000, 1790001002000, '{"type":"text","text":"\"gulls\" is all I say"}'),
 ('prt_2101', 'msg_21', 'ses_fork00001', 1790002000100, 1790002000100, '{"type":"text","text":"When is high water at the old pier?\nWrite it as \"café tide\" in C:\\tides"}'),
 ('prt_2201', 'msg_22', 'ses_fork00001', 1790002000200, 1790002000200, '{"type":"text","text":"I ask the almanac.","time":{"start":1790000002300,"end":1790000002400}}'),
 ('prt_3101', 'msg_31', 'ses_subagent1', 1790000501000, 1790000501000, '{"type":"text","text":"Survey the buoys and report"}'),
 ('prt_9901', 'msg_99', 'ses_harbour01', 1790000501000, 1790000501000, '{"type":"text","text":"ferry: its message is gone"}'),
 ('prt_9902', 'msg_01', 'ses_harbour01', 1790000501000, 1790000501000, '{"type":"text","text":"ferry, torn');
INSERT INTO event VALUES ('e1', 'ses_harbour01', 1, 'message.part.updated', '{"part":{"type":"text","text":"ferry: the event repeats what a part says"}}');
-- ONLY IN THE LOG
INSERT INTO message VALUES ('msg_23', 'ses_fork00001', 1790002100000, 1790002100000, '{"role":"user","time":{"created":1790002100000},"agent":"build"}');
INSERT INTO part VALUES ('prt_2301', 'msg_23', 'ses_fork00001', 1790002100000, 1790002100000, '{"type":"text","text":"/fork and what of low water?"}');
