import { operationLabels, splitCamelCase } from '../labels.ts';

/** The API's name for an operation, with a readable label. */
export function OperationName({ operation, href }: { operation: string; href?: string }) {
  const name = <code class="name">{operation}</code>;
  return (
    <>
      {href === undefined ? name : <a href={href}>{name}</a>}
      <span class="under">{operationLabel(operation)}</span>
    </>
  );
}

function operationLabel(operation: string): string {
  if (operation === 'none') return 'Unknown path or method';
  return (operationLabels as Readonly<Record<string, string>>)[operation] ?? splitCamelCase(operation);
}
