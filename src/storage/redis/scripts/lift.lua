-- Ends a ban, and clears the key's strikes and level. A ban with another end is a later one, and is kept.
-- KEYS: penalty of the key, bans, version of callers, clock
-- ARGV: "key:account", the date on which the ban ends in Unix seconds, the version PostgreSQL assigned to the lifting,
-- time (see `present`)
local now, shown_by = present(KEYS[4], redis.call('GET', KEYS[4]), 4)
local from, till, banned, level = penalty_of(redis.call('GET', KEYS[1]))
local callers = version(redis.call('GET', KEYS[3]))
-- Dates are rounded to a second.
if banned > 0 and math.abs(banned + shown_by - tonumber(ARGV[2])) <= 1 then
  redis.call('DEL', KEYS[1], KEYS[1] .. ':strikes')
  local listed = ARGV[1] .. ':' .. text(level)
  redis.call('ZREM', KEYS[2], listed)
  redis.call('ZREM', unsaved_bans(KEYS[2]), listed)
  callers = callers + 1
end
-- In the same script, so that an instance that is about to restore the ban does not.
redis.call('SET', KEYS[3], text(math.max(callers, tonumber(ARGV[3]))))
return 1
