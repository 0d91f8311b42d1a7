-- Removes bans that PostgreSQL has from the list of unsaved ones.
-- KEYS: unsaved bans
-- ARGV: the bans ("key:account:level")
return redis.call('ZREM', KEYS[1], unpack(ARGV))
