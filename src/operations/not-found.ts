/** An operator named something that is not there; `message` says how to find what is. */
export class NotFound extends Error {
  constructor(noun: 'account' | 'key' | 'ban on key', id: number, listCommand: string) {
    super(`There is no ${noun} ${id}. For a list, run "animal-store ${listCommand}".`);
  }
}

/** A key that is not live has no successor, for whoever holds it was meant to lose access, or has it by another key. */
export class KeyEnded extends Error {
  constructor(id: number, accountId: number, how: 'is revoked' | 'has expired' | 'was already rotated') {
    super(
      `Key ${id} cannot be rotated: it ${how}. ` +
        `For a new key of its account, run "animal-store keys create --account ${accountId}".`,
    );
  }
}
