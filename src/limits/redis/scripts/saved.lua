-- Removes bans from the list of unsaved bans after PostgreSQL has saved them.
-- KEYS: unsaved bans
-- ARGV: the bans ("key:account:level")
return redis.call('ZREM', KEYS[1], unpack(ARGV))
