/** Sends requests: one try after the other, until there is an answer. */
import type { AnimalStoreOptions } from './animal-store.js';
import { type Answer, answerOf } from './answer.js';
import type { Clock } from './clock.js';
import { parseJson, stringifyJson } from './json.js';
import type { Request, Send } from './request.js';

export function sender({ key, url, fetch: send = fetch }: AnimalStoreOptions, _clock: Clock): Send {
  return async <Data>({ method, path, body }: Request): Promise<Answer<Data>> => {
    const response = await send(`${url}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body && { body: stringifyJson(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return answerOf((text === '' ? undefined : parseJson(text)) as Data, response.status, response.headers);
  };
}
