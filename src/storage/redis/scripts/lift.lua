-- Ends a ban and forgets the key's strikes and level.
-- KEYS: penalty of the key, bans, version of callers
-- ARGV: the ban as it is listed ("key:account:level"), the version PostgreSQL gave the lifting
redis.call('DEL', KEYS[1], KEYS[1] .. ':strikes')
redis.call('ZREM', KEYS[2], ARGV[1])
-- In the same step, so that an instance that was about to give the ban back does not.
redis.call('SET', KEYS[3], text(math.max(version(redis.call('GET', KEYS[3])) + 1, tonumber(ARGV[2]))))
return 1
