-- Returns the generation of counts and bans (see keys.ts), followed by the versions, after raising them to the versions an
-- instance read in PostgreSQL, in case a change was not announced to Redis. Unchanged versions are written as well, so
-- that the script fails if Redis rejects writes.
-- KEYS: the server process that has the data, versions of resources
-- ARGV: 1 if a new generation begins with another process, 0 if not; the minimum of each version
local values = redis.call('MGET', unpack(KEYS))
local known_run, known_former, generation = string.match(values[1] or '', '^(%x+)/(%x*) (%d*)$')
local run, former
if ARGV[1] == '1' then run, former = this_process() end
if run and (run ~= known_run or former ~= known_former) then
  -- A primary without replicas forgets its former history after a while, and has lost nothing.
  if run ~= known_run or former ~= '' then generation = known_run and text(micros()) or '' end
  redis.call('SET', KEYS[1], run .. '/' .. former .. ' ' .. generation)
end
local reply = { generation or '' }
for index = 2, #KEYS do
  reply[index] = math.max(version(values[index]), tonumber(ARGV[index]))
  redis.call('SET', KEYS[index], text(reply[index]))
end
return reply
