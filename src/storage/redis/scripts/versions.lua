-- Returns the versions, raised to those an instance read in PostgreSQL in case a change was not announced to Redis.
-- Unchanged versions are written as well: a Redis that rejects writes cannot count either, and fails here.
-- KEYS: versions of resources
-- ARGV: the minimum of each
local values = redis.call('MGET', unpack(KEYS))
local versions = {}
for index, key in ipairs(KEYS) do
  versions[index] = math.max(version(values[index]), tonumber(ARGV[index]))
  redis.call('SET', key, text(versions[index]))
end
return versions
