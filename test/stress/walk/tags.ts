/** The secret that an answer shows once. The entity tag does not depend on it. */
export const secretMember = /,"secret":"(whsec_[^"]+)"\}$/;

/** Observed entity tags. Each representation has one, and no two representations share one. */
export class Tags {
  readonly #byText = new Map<string, string>();
  readonly #byTag = new Map<string, string>();
  readonly #lastOf = new Map<string, string>();

  /** The tag of a representation. Undefined if none was seen. */
  of(text: string): string | undefined {
    return this.#byText.get(text.replace(secretMember, '}'));
  }

  /** The tag of the last answer to a target. */
  lastOf(target: string): string | undefined {
    return this.#lastOf.get(target);
  }

  keepLast(target: string, tag: string): void {
    this.#lastOf.set(target, tag);
  }

  /** Throws if the text had another tag before, or the tag belonged to another text. */
  see(shown: string, tag: string): void {
    const text = shown.replace(secretMember, '}');
    if (!/^"[\x21\x23-\x7e]+"$/.test(tag)) throw new Error(`the entity tag ${tag} is not strong`);
    const before = this.#byText.get(text) ?? tag;
    if (before !== tag) throw new Error(`the entity tag was ${before} and is ${tag} of the same ${text}`);
    const other = this.#byTag.get(tag) ?? text;
    if (other !== text) throw new Error(`the entity tag ${tag} is that of ${other}, and of ${text}`);
    this.#byText.set(text, tag);
    this.#byTag.set(tag, text);
  }
}
