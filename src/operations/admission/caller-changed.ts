/**
 * The key of a waiting request was revoked or banned, has expired, or has lost a scope. The request must be admitted
 * again.
 */
export class CallerChanged extends Error {}
