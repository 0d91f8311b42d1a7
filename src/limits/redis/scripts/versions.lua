-- Returns the versions, after raising them to the versions an instance read in PostgreSQL, in case a change was not
-- announced to Redis. Unchanged versions are written as well, so that the script fails if Redis rejects writes.
-- KEYS: versions of resources
-- ARGV: the minimum of each version
local values = redis.call('MGET', unpack(KEYS))
local versions = {}
for index, key in ipairs(KEYS) do
  versions[index] = math.max(version(values[index]), tonumber(ARGV[index]))
  redis.call('SET', key, text(versions[index]))
end
return versions
