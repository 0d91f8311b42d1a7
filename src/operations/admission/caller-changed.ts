/**
 * The key of a waiting request was revoked, has expired, was banned or lost a scope. The request must be admitted
 * again.
 */
export class CallerChanged extends Error {}
