import { scopes as allScopes, type Scope } from '../../src/domain/scope.ts';
import { scopeLabels } from '../labels.ts';

interface ScopeFieldsProps {
  readonly scopes: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
}

/** The scopes of a key, as checkboxes. */
export function ScopeFields({ scopes, onChange }: ScopeFieldsProps) {
  const toggle = (scope: Scope) =>
    onChange(allScopes.filter((each) => (each === scope) !== scopes.includes(each)));
  return (
    <fieldset class="choices">
      <legend>Scopes</legend>
      {allScopes.map((scope) => (
        <label key={scope}>
          <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
          <span>
            {scopeLabels[scope]} <code>{scope}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
