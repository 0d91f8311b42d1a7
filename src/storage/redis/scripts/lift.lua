-- Ends a ban and forgets the key's strikes and level.
-- KEYS: bans
-- ARGV: id of the key, prefix of all keys[, now]
local running = redis.call('ZRANGE', KEYS[1], '(' .. text(math.floor(now_ms(ARGV[3]) / 1000)), '+inf', 'BYSCORE')
for _, member in ipairs(running) do
  local key, account = string.match(member, '(%d+):(%d+):')
  if key == ARGV[1] then
    local conduct = ARGV[2] .. '{' .. account .. '}:key:' .. key
    redis.call('DEL', conduct, conduct .. ':strikes')
    redis.call('ZREM', KEYS[1], member)
    return 1
  end
end
return 0
