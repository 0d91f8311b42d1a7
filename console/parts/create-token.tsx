/** The command that creates a token for signing in. */
export function CreateToken() {
  return (
    <pre>
      <code>animal-store operators create NAME --role admin</code>
    </pre>
  );
}
