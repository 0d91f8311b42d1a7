/** Features of the service that cost time in each request. The report shows which features each peer has. */
export const features = [
  'key look-up',
  'keys stored hashed',
  'limit per minute',
  'limit per day',
  'X-RateLimit and RateLimit headers',
  'bans',
  'counts survive a restart',
  'body validation',
  'query validation',
  'one error body',
  'int64 exact',
  'duplicate members refused',
  'pages by cursor',
  'durable POST',
] as const;

export type Feature = (typeof features)[number];
