// How the principal is asked. Where this page is a part of another, that one sets a base and fields of its own.

export const api = {
  base: "",
  async fields() {
    const token = sessionStorage.getItem("token");
    return token === null ? {} : { Authorization: "Bearer " + token };
  },
};

export async function ask(path, signal) {
  return fetch(api.base + path, { headers: await api.fields(), cache: "no-store", signal });
}
