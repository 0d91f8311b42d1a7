-- Counts a failed authentication of an address, or only looks: `judgeFailure` and `peek` of the law.
-- KEYS: window of the address
-- ARGV: limit, 1 to count or 0 to look[, now]
local at, count = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%d+) (%d+)')
local now = now_ms(ARGV[3])
local window = rolled({ at = tonumber(at), count = tonumber(count) }, minute_seconds, now)
local refused = window.count >= tonumber(ARGV[1])
if ARGV[2] == '1' then
  if not refused then window = { at = window.at, count = window.count + 1 } end
  local lasts = (window.at + minute_seconds) * 1000 - now
  redis.call('SET', KEYS[1], text(window.at) .. ' ' .. text(window.count), 'PX', text(math.max(lasts, 0) + kept_ms))
end
return { now, window.at, window.count, refused and 1 or 0 }
