/** The reference page: Swagger UI over the server's own OpenAPI document, and addresses as the reader sees them. */

type Props = Readonly<Record<string, unknown>>;

/** React's, of which Swagger UI brings a copy. */
type CreateElement = (component: unknown, props: Props, ...children: unknown[]) => unknown;

/** Brought by another script. */
declare const SwaggerUIBundle: (options: object) => unknown;

const API = new URL("api/public/v1", document.baseURI).href;

for (const place of document.querySelectorAll(".base")) place.textContent = API;

// Swagger UI's dark colours hang on a class.
const darkness = matchMedia("(prefers-color-scheme: dark)");
const applyDarkness = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
darkness.addEventListener("change", applyDarkness);
applyDarkness();

/** Makes a component that stands in the place of one of Swagger UI's. */
const wrap =
  (render: (make: CreateElement, Original: unknown, props: Props) => unknown) =>
  (Original: unknown, { React }: { readonly React: { readonly createElement: CreateElement } }) =>
  (props: Props): unknown =>
    render(React.createElement, Original, props);

/** The page itself has what Swagger UI shows above the operations, and there is one server to choose. */
const nothing = wrap(() => null);

/** No browser is to remember what was typed: it may be a token. */
const FORGETFUL = { autoComplete: "off", spellCheck: false };

const forgetful = wrap((make, Input, props) => make(Input, { ...props, ...FORGETFUL }));

/** A component with a name that is not seen. */
function labelled(make: CreateElement, name: unknown, component: unknown, props: Props): unknown {
  return make("label", {}, make("span", { className: "unseen" }, name), make(component, props));
}

/** What is used of a parameter's field, beside what it hands on. */
interface FieldProps extends Props {
  readonly schema?: { readonly get: (name: string) => unknown };
  readonly errors?: { readonly size: number };
  readonly onChange: (value: string, name: unknown) => void;
}

/**
 * A parameter's field. Swagger UI's own tells of its text 0.35 s after the last key, or when it loses the focus: a
 * click on Execute that moves no focus, as of speech control or a script, would send the example. This one tells at once.
 */
const prompt = wrap((make, Original, props) => {
  const { schema, errors, onChange, value, description, disabled, keyName } = props as FieldProps;
  if (schema?.get("enum") !== undefined) return labelled(make, description, Original, props);
  return make("input", {
    ...FORGETFUL,
    type: "text",
    className: errors?.size ? "invalid" : "",
    value: String(value ?? ""),
    placeholder: description,
    disabled,
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onChange(event.target.value, keyName),
  });
});

/** Folds a part that few read. */
const foldedHeaders = wrap((make, Headers, props) =>
  make("details", {}, make("summary", {}, "Headers"), make(Headers, props)),
);

/** A documented status is one line until it is opened; that of success is open. */
const foldedResponse = wrap((make, Response, props) => {
  const row = make(Response, props);
  const { code, response } = props as { code: string; response: { get: (name: string) => unknown } };
  if (code === "200") return row;
  const says = String(response.get("description") ?? "").replaceAll("`", "");
  const summary = make("summary", {}, make("b", {}, code), " ", says);
  const table = make("table", {}, make("tbody", {}, row));
  const details = make("details", { className: "folded" }, summary, table);
  return make("tr", {}, make("td", { colSpan: 3 }, details));
});

/** A list of choices has a name. */
const named = wrap((make, Choices, props) => labelled(make, "Example", Choices, props));

/** Nobody can reach a link within a button; the address names the open part anyway. */
const unlinked = wrap((make, _, { text }) => make("span", {}, text));

/** The name of a button is its text. */
const asWritten = wrap((make, Button, { "aria-label": _, ...props }) => make(Button, props));

const closing = wrap((make, Icon, props) =>
  make("span", {}, make("span", { className: "unseen" }, "Close"), make(Icon, props)),
);

const ours = () => ({
  wrapComponents: {
    InfoContainer: nothing,
    ServersContainer: nothing,
    Input: forgetful,
    JsonSchema_string: prompt,
    headers: foldedHeaders,
    response: foldedResponse,
    ExamplesSelect: named,
    DeepLink: unlinked,
    Button: asWritten,
    CloseIcon: closing,
  },
});

// Swagger UI names what is open in the address but does not follow the way back to it: the address is enough.
history.pushState = history.replaceState;

SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("reference"),
  deepLinking: true,
  plugins: [ours],
  supportedSubmitMethods: ["get"],
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // It would ask another host.
  validatorUrl: null,
  // A token is forgotten with the page.
  persistAuthorization: false,
});
