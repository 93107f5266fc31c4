
ok