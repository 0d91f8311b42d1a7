-- Returns the identity of this server: that of its data, and the id of the running process, which copies of the data do
-- not have. Without permission for INFO, returns only the former. Data without an identity adopts the proposed one.
-- KEYS: identity
-- ARGV: the proposed identity
redis.call('SET', KEYS[1], ARGV[1], 'NX')
local data = redis.call('GET', KEYS[1])
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
if run then
  return data .. '/' .. run
end
return data
