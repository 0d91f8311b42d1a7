-- Raises a version to the one that PostgreSQL assigned to a change, or by one if that version is unknown or not higher.
-- KEYS: version
-- ARGV: the change's version, 0 if unknown
local risen = math.max(version(redis.call('GET', KEYS[1])) + 1, tonumber(ARGV[1]))
redis.call('SET', KEYS[1], text(risen))
return risen
