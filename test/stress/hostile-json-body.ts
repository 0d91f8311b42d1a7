/** One hostile body, and short ways to write one down. */

export interface HostileBody {
  readonly what: string;
  readonly bytes: Uint8Array;
  /** The code of the refusal; undefined when it is accepted. */
  readonly code: 'invalid_json' | 'invalid_body' | undefined;
}

export const largest = 16_384;

export const of = (what: string, code: HostileBody['code'], body: string | Uint8Array): HostileBody => ({
  what,
  code,
  bytes: typeof body === 'string' ? Buffer.from(body) : body,
});

export const member = (text: string) => `{"name":"a","categoryId":1,${text}}`;
export const value = (text: string) => `{"name":"a","categoryId":${text}}`;
export const name = (text: string) => `{"name":${text},"categoryId":1}`;
