/** The webhook secret, which only one response contains. The entity tag does not depend on the secret. */
export const secretMember = /,"secret":"(whsec_[^"]+)"\}$/;

/**
 * The entity tags seen in responses. Each representation has exactly one tag, and no two representations share a tag.
 */
export class Tags {
  readonly #byText = new Map<string, string>();
  readonly #byTag = new Map<string, string>();
  readonly #lastOf = new Map<string, string>();

  /** The entity tag of a representation. Undefined if the representation has not been seen. */
  of(text: string): string | undefined {
    return this.#byText.get(text.replace(secretMember, '}'));
  }

  /** The entity tag of the last response for a target. */
  lastOf(target: string): string | undefined {
    return this.#lastOf.get(target);
  }

  keepLast(target: string, tag: string): void {
    this.#lastOf.set(target, tag);
  }

  /** Throws if this text was seen with a different tag, or this tag with a different text. */
  see(shown: string, tag: string): void {
    const text = shown.replace(secretMember, '}');
    if (!/^"[\x21\x23-\x7e]+"$/.test(tag)) throw new Error(`the entity tag ${tag} is not strong`);
    const before = this.#byText.get(text) ?? tag;
    if (before !== tag) throw new Error(`the entity tag of ${text} was ${before} and is now ${tag}`);
    const other = this.#byTag.get(tag) ?? text;
    if (other !== text) throw new Error(`the entity tag ${tag} belongs to both ${other} and ${text}`);
    this.#byText.set(text, tag);
    this.#byTag.set(tag, text);
  }
}
