-- Ends a ban and forgets the key's strikes and level.
-- KEYS: bans, version of callers
-- ARGV: id of the key, prefix of all keys, the version PostgreSQL gave it[, now]
local lifted = 0
local running = redis.call('ZRANGE', KEYS[1], '(' .. text(math.floor(now_ms(ARGV[4]) / 1000)), '+inf', 'BYSCORE')
for _, member in ipairs(running) do
  local key, account = string.match(member, '(%d+):(%d+):')
  if key == ARGV[1] then
    local conduct = ARGV[2] .. '{' .. account .. '}:key:' .. key
    redis.call('DEL', conduct, conduct .. ':strikes')
    redis.call('ZREM', KEYS[1], member)
    lifted = 1
  end
end
-- In the same step, so that an instance that was about to give the ban back does not.
redis.call('SET', KEYS[2], text(math.max(version(redis.call('GET', KEYS[2])) + 1, tonumber(ARGV[3]))))
return lifted
