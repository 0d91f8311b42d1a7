-- Ends a ban, and clears the key's strikes and level. A ban with a different end is newer and stays in effect.
-- KEYS: penalty of the key, bans, version of callers, clock
-- ARGV: "key:account", the end of the ban in Unix seconds, the version that PostgreSQL assigned to the change, time
-- (see `present`)
local now, shown_by = present(KEYS[4], redis.call('GET', KEYS[4]), 4)
local from, till, banned, level = penalty_of(redis.call('GET', KEYS[1]))
local callers = version(redis.call('GET', KEYS[3]))
-- End times are rounded to seconds.
if banned > 0 and math.abs(banned + shown_by - tonumber(ARGV[2])) <= 1 then
  redis.call('DEL', KEYS[1], KEYS[1] .. ':strikes')
  local listed = ARGV[1] .. ':' .. text(level)
  redis.call('ZREM', KEYS[2], listed)
  redis.call('ZREM', unsaved_bans(KEYS[2]), listed)
  callers = callers + 1
end
-- Raised in the same script, so that no instance restores the ban from older data.
redis.call('SET', KEYS[3], text(math.max(callers, tonumber(ARGV[3]))))
return 1
