/** While a request waited, its key was revoked, has expired, was banned or lost a scope: it has to be admitted again. */
export class CallerChanged extends Error {}
