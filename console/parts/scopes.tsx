import { scopes as allScopes, type Scope } from '../../src/domain/scope.ts';
import { scopeWords } from '../words.ts';

interface ScopeFieldsProps {
  readonly scopes: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
}

/** What a key may do, to be ticked. */
export function ScopeFields({ scopes, onChange }: ScopeFieldsProps) {
  const toggle = (scope: Scope) =>
    onChange(allScopes.filter((each) => (each === scope) !== scopes.includes(each)));
  return (
    <fieldset class="choices">
      <legend>What the key may do</legend>
      {allScopes.map((scope) => (
        <label key={scope}>
          <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
          <span>
            {scopeWords[scope]} <code>{scope}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
