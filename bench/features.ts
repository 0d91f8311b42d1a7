/** Features of the service that add to the cost of each request. The report shows which features each peer has. */
export const features = [
  'key lookup',
  'keys stored hashed',
  'limit per minute',
  'limit per day',
  'X-RateLimit and RateLimit headers',
  'bans',
  'counts survive a restart',
  'body validation',
  'query validation',
  'uniform error body',
  'int64 exact',
  'duplicate members rejected',
  'cursor pagination',
  'durable POST',
] as const;

export type Feature = (typeof features)[number];
