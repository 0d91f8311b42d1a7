/** Helpers for HTTP framing attacks. */

export interface Attack {
  readonly what: string;
  /** The bytes to send, as a Latin-1 string. */
  readonly bytes: string;
}

/** The two keys of an attack: one for visible requests, one for requests hidden in bodies. */
export interface AttackKeys {
  readonly open: string;
  readonly hidden: string;
}

export const json = 'Content-Type: application/json\r\n';
export const animal = '{"name":"a","categoryId":1}';

export interface Kit extends AttackKeys {
  readonly request: (line: string, headers?: string, body?: string) => string;
  readonly withKey: (key: string, line: string, headers?: string, body?: string) => string;
  readonly post: (headers: string, body: string) => string;
  readonly secret: string;
  readonly last: string;
}
