-- VS Code 1.111: what was typed into chats; sessions of 2023.
PRAGMA page_size=512;
BEGIN TRANSACTION;
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
INSERT INTO "ItemTable" VALUES('secret://{"extensionId":"loom"}','{"type":"Buffer","data":"loom secret"}');
INSERT INTO "ItemTable" VALUES('workbench.panel.chat','{"loom":1}');
INSERT INTO "ItemTable" VALUES('cursorAuth/accessToken','loom-token');
INSERT INTO "ItemTable" VALUES('memento/interactive-session','{"history":{"copilot":[{"inputText":"Mind the gap at pier 0","attachments":[],"mode":"agent","selectedModel":{"identifier":"copilot/gpt-9"}},"/fix the bollard",{"text":"Older: moor the \"dinghy\" — bitte","state":{}},{"inputText":""},{"wrong":2}],"editor":["Shorten the rope"]}}');
INSERT INTO "ItemTable" VALUES('interactive.sessions','["5c0d0000-0000-4000-8000-000000000000",{"version":1,"sessionId":"5e550000-0000-4000-8000-000000000000","requests":[{"requestId":"request_old_0","message":{"text":"Was barge 0 late?"},"response":[{"value":"Barge 0 was on time."}]}]}]');
INSERT INTO "ItemTable" VALUES('chat.ChatSessionStore.index','{"version":1,"entries":{}}');
COMMIT;
