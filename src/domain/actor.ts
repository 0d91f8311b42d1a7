/** The author of a change: an operator, a command-line user, or the user of a console opened with a one-time code. */
const actorKinds = ['operator', 'cli', 'console'] as const;

type ActorKind = (typeof actorKinds)[number];

export interface Actor {
  readonly kind: ActorKind;
  readonly name: string;
}

/** The actor as the audit log stores it, such as `operator:anna`. */
export function formatActor({ kind, name }: Actor): string {
  return `${kind}:${name}`;
}

export function parseActor(text: string): Actor {
  const [, kind, name = ''] = /^(\w+):(.*)$/s.exec(text) ?? [];
  return { kind: actorKinds.find((known) => known === kind) ?? 'operator', name };
}
