-- Ends a ban and forgets the key's strikes and level.
-- KEYS: bans, version of callers, clock
-- ARGV: id of the key, prefix of all keys, time (see `present`)
local now = present(KEYS[3], redis.call('GET', KEYS[3]), 3)
local running = redis.call('ZRANGE', KEYS[1], '(' .. text(math.floor(now / 1000)), '+inf', 'BYSCORE')
for _, member in ipairs(running) do
  local key, account = string.match(member, '(%d+):(%d+):')
  if key == ARGV[1] then
    local conduct = ARGV[2] .. '{' .. account .. '}:key:' .. key
    redis.call('DEL', conduct, conduct .. ':strikes')
    redis.call('ZREM', KEYS[1], member)
    -- Instances forget what they know of keys when callers change.
    local risen = version(KEYS[2], redis.call('GET', KEYS[2])) + 1
    redis.call('SET', KEYS[2], text(math.max(risen, micros())))
    return 1
  end
end
return 0
