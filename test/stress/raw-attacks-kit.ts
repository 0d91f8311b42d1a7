/** What attacks on the framing of HTTP are written with. */

export interface Attack {
  readonly what: string;
  /** Bytes, as Latin-1. */
  readonly bytes: string;
}

/** The two keys an attack uses: one in the open, one in requests hidden where bodies should be. */
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
