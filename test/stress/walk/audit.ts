/** Reads the whole store page by page and compares it with the model byte by byte. */
import type { Checkable } from '../../support/contract.ts';
import { Mirror } from './mirror.ts';
import { resources } from './places.ts';
import type { World } from './world.ts';

export type Read = (target: string) => Promise<Checkable>;

/**
 * Throws unless the store equals the model, its counts are correct, and replaying its events produces the same state.
 */
export async function audit(read: Read, world: World, mirror = new Mirror()): Promise<void> {
  await mirror.follow(read);
  const copies = new Map(mirror.lists());
  for (const { lists, answers } of resources) {
    for (const [target, texts] of lists?.(world) ?? []) {
      const limited = `${target}${target.includes('?') ? '&' : '?'}limit=100`;
      compare(target, await whole(read, limited), texts);
      compare(`${target} built from events`, copies.get(target) ?? texts, texts);
    }
    for (const [target, due] of answers?.(world) ?? []) {
      const { text } = await read(target);
      if (text !== due) throw new Error(`${target} is ${text}, not ${due}`);
    }
  }
}

/** The text of every item in a list, from the first page to the last. */
async function whole(read: Read, first: string): Promise<string[]> {
  const texts: string[] = [];
  for (let target: string | undefined = first; target !== undefined; ) {
    const answer: Checkable = await read(target);
    if (answer.status !== 200) throw new Error(`${target} returned ${answer.status}: ${answer.text}`);
    if (answer.text !== '[]') texts.push(...answer.text.slice(1, -1).split(/(?<=\}),(?=\{"id":)/));
    target = /<\/v1([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return texts;
}

function compare(target: string, stored: readonly string[], due: readonly string[]): void {
  const at = due.findIndex((text, index) => text !== stored[index]);
  if (at !== -1) throw new Error(`${target} has ${stored[at]}, not ${due[at]}.`);
  if (stored.length > due.length) throw new Error(`${target} also has ${stored[due.length]}.`);
}
