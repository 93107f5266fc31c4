export KILN=decoy
