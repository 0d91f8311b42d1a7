/** An operator named something that is not there; `message` says how to find what is. */
export class NotFound extends Error {
  constructor(noun: 'account' | 'key' | 'ban on key', id: number, listCommand: string) {
    super(`There is no ${noun} ${id}. "animal-store ${listCommand}" shows what there is.`);
  }
}
