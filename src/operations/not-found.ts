/** An operator named something that is not there; `message` says how to find what is. */
export class NotFound extends Error {
  constructor(noun: 'account' | 'key' | 'ban on key', id: number, listCommand: string) {
    super(`There is no ${noun} ${id}. "animal-store ${listCommand}" shows what there is.`);
  }
}

/** A revoked key has no successor, for whoever holds it was meant to lose access. */
export class KeyRevoked extends Error {
  constructor(id: number, accountId: number) {
    super(
      `Key ${id} is revoked, so it cannot be rotated. ` +
        `"animal-store keys create --account ${accountId}" makes a new key of its account.`,
    );
  }
}
